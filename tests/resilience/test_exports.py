import subprocess
import sys

import resilience


def test_all_is_sorted_and_true() -> None:
    exported = {name for name in vars(resilience) if name[0].isupper()}
    assert resilience.__all__ == sorted(exported)


def test_it_imports_nothing_that_only_services_and_reports_need() -> None:
    program = "import sys, resilience; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=True
    )
    imported = set(done.stdout.split())

    assert "resilience.client" in imported
    assert imported & {"fastapi", "starlette", "pandas", "numpy", "locust", "pydantic"} == set()


def test_it_leaves_what_tests_need_to_the_tests() -> None:
    program = "import sys, resilience; sys.exit('resilience.testing' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], timeout=30, check=True)
