FROM python:3.11-slim-bookworm AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /src

# Dependencies first: this layer is kept while only the code changes.
COPY requirements/build.txt requirements/service.txt requirements/audit.txt requirements/
RUN python -m venv /opt/build \
    && /opt/build/bin/pip install --require-hashes -r requirements/build.txt \
    && python -m venv --without-pip /opt/hubless \
    && /opt/build/bin/pip --python /opt/hubless/bin/python install --require-hashes -r requirements/service.txt

# What is installed, as CycloneDX; and without what nobody uses, a quarter of it.
COPY docker/trim.sh docker/check_imports.py docker/
RUN python -m venv /opt/audit \
    && /opt/audit/bin/pip install --require-hashes -r requirements/audit.txt \
    && /opt/audit/bin/cyclonedx-py requirements --output-reproducible --of JSON -o /opt/hubless/sbom.cdx.json \
       requirements/service.txt \
    && apt-get update && apt-get install --yes --no-install-recommends binutils \
    && docker/trim.sh /opt/hubless/lib/python3.11/site-packages

COPY pyproject.toml README.md LICENSE ./
COPY console console
COPY indexer/hubless indexer/hubless
COPY service/hubless_service service/hubless_service
RUN /opt/build/bin/python -m hatchling build -t wheel -d /tmp/dist \
    && /opt/build/bin/pip --python /opt/hubless/bin/python install --no-deps /tmp/dist/*.whl \
    && /opt/hubless/bin/python docker/check_imports.py


FROM python:3.11-slim-bookworm
LABEL org.opencontainers.image.title="hubless" \
      org.opencontainers.image.description="Vector search without hubs: build job and HTTP service" \
      org.opencontainers.image.version="0.2.0" \
      org.opencontainers.image.licenses="Apache-2.0" \
      io.hubless.sbom="/opt/hubless/sbom.cdx.json"

# Nothing is installed here after the build, so the base image's pip goes too.
# The catalog's folder belongs to the user, and so does a named volume that is first mounted there.
RUN python -m pip uninstall --yes --root-user-action=ignore pip setuptools wheel \
    && useradd --no-log-init --uid 10001 --user-group --no-create-home --home-dir /nonexistent \
       --shell /usr/sbin/nologin hubless \
    && install --directory --owner hubless --group hubless /catalog

COPY --from=build /opt/hubless /opt/hubless
COPY docker/healthcheck.py /opt/hubless/healthcheck.py
ENV PATH=/opt/hubless/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    HUBLESS_CATALOG=/catalog \
    HUBLESS_HOST=0.0.0.0 \
    HUBLESS_PORT=8000

# By number: an orchestrator that insists on "not root" can check a number, not a name.
USER 10001:10001
WORKDIR /catalog
VOLUME /catalog
EXPOSE 8000
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "/opt/hubless/healthcheck.py"]
ENTRYPOINT ["hubless"]
CMD ["serve"]
