FROM python:3.11-slim-bookworm AS build
# Extras of hubless to install too, such as object-storage,milvus: requirements/image-NAME.txt.
ARG EXTRAS=""
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /src

# Dependencies first: this layer is kept while only the code changes.
COPY requirements/build.txt requirements/service.txt requirements/audit.txt requirements/image-*.txt requirements/
COPY docker/requirements.sh docker/
RUN docker/requirements.sh "$EXTRAS" > /tmp/image.txt \
    && python -m venv /opt/build \
    && /opt/build/bin/pip install --require-hashes -r requirements/build.txt \
    && python -m venv --without-pip /opt/hubless \
    && /opt/build/bin/pip --python /opt/hubless/bin/python install --require-hashes -r /tmp/image.txt

# What is installed, as CycloneDX; and without what nobody uses, a third of it.
COPY docker/trim.sh docker/
RUN python -m venv /opt/audit \
    && /opt/audit/bin/pip install --require-hashes -r requirements/audit.txt \
    && /opt/audit/bin/cyclonedx-py requirements --output-reproducible --of JSON -o /opt/hubless/sbom.cdx.json \
       /tmp/image.txt \
    && apt-get update && apt-get install --yes --no-install-recommends binutils \
    && docker/trim.sh /opt/hubless/lib/python3.11/site-packages

COPY pyproject.toml README.md LICENSE ./
COPY console console
COPY indexer/hubless indexer/hubless
COPY service/hubless_service service/hubless_service
COPY databases databases
COPY encoders encoders
COPY engines engines
COPY lab lab
COPY objects objects
COPY docker/wheels.sh docker/
RUN PYTHON=/opt/build/bin/python docker/wheels.sh "$EXTRAS" /tmp/dist \
    && /opt/build/bin/pip --python /opt/hubless/bin/python install --no-deps /tmp/dist/*.whl


# The base image, without what nobody uses. Nothing is installed after the build, so pip goes too.
# The catalog's folder belongs to the user, and so does a named volume that is first mounted there.
FROM python:3.11-slim-bookworm AS base
COPY docker/trim-base.sh /tmp/
RUN useradd --no-log-init --uid 10001 --user-group --no-create-home --home-dir /nonexistent \
       --shell /usr/sbin/nologin hubless \
    && install --directory --owner hubless --group hubless /catalog \
    && /tmp/trim-base.sh "$(command -v python3.11)"


# From nothing: a layer on the base image could hide its files, but would still carry them.
FROM scratch
LABEL org.opencontainers.image.title="hubless" \
      org.opencontainers.image.description="Vector search without hubs: build job and HTTP service" \
      org.opencontainers.image.version="0.3.0.dev0" \
      org.opencontainers.image.licenses="Apache-2.0" \
      io.hubless.sbom="/opt/hubless/sbom.cdx.json"

COPY --from=base / /
COPY --from=build /opt/hubless /opt/hubless
COPY docker/healthcheck.py docker/check_imports.py /opt/hubless/
ENV PATH=/opt/hubless/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    LANG=C.UTF-8 \
    PYTHONDONTWRITEBYTECODE=1 \
    HUBLESS_CATALOG=/catalog \
    HUBLESS_HOST=0.0.0.0 \
    HUBLESS_PORT=8000

# By number: an orchestrator that insists on "not root" can check a number, not a name.
USER 10001:10001
WORKDIR /catalog
RUN ["python", "/opt/hubless/check_imports.py"]
VOLUME /catalog
EXPOSE 8000
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "/opt/hubless/healthcheck.py"]
ENTRYPOINT ["hubless"]
CMD ["serve"]
