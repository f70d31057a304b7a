# One image for every service; docker-compose.yml says which command a container runs.
FROM python:3.11.14-slim-bookworm AS base
ENV PATH=/opt/venv/bin:$PATH \
    HOME=/tmp \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1

FROM base AS packages
COPY requirements.txt /
RUN python -m venv /opt/venv \
    && pip install --no-cache-dir --disable-pip-version-check -r /requirements.txt

FROM base
WORKDIR /app
COPY --from=packages /opt/venv /opt/venv
COPY chaos/ chaos/
COPY console/ console/
COPY front/ front/
COPY lab/ lab/
COPY loadgen/ loadgen/
COPY rates_api/ rates_api/
COPY resilience/ resilience/
COPY service_defaults/ service_defaults/
COPY systems/ systems/
# A number, so that a cluster can see without looking into the image that it is not root.
USER 10001:10001
CMD ["python", "-m", "front", "--host", "0.0.0.0", "--port", "8000"]
