"""A shop that knows nothing of the lab."""  # noqa: INP001 - an application, not a package

from flask import Flask, Response, jsonify

app = Flask(__name__)
STOCK = {"tea": 7, "salt": 0}


@app.get("/stock/<item>")
def stock(item: str) -> Response:
    """Say whether there is some left."""
    left = STOCK[item]
    return jsonify(state="in stock" if left else "sold out", left=left)
