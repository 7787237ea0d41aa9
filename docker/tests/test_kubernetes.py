"""The manifests follow the schemas of Kubernetes, and name only what there is."""

import json
import tomllib
from pathlib import Path

import pytest
import yaml

from hubless_service.app import create_app
from hubless_service.settings import Settings

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "deploy" / "kubernetes"
KUSTOMIZATION = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())
OBJECTS = [
    described for name in KUSTOMIZATION["resources"] for described in yaml.safe_load_all((FOLDER / name).read_text())
]
SETTINGS = dict(line.split("=", 1) for line in (FOLDER / "settings.env").read_text().splitlines() if "=" in line)
VERSION = "1.31"
MARGIN = 8
"""Seconds that docs/operations.md asks for, beyond those that the service takes to end."""


def one(kind, name=None):
    (found,) = [each for each in OBJECTS if each["kind"] == kind and name in (None, each["metadata"]["name"])]
    return found


def pod_of(described):
    spec = described["spec"]
    return (spec["jobTemplate"]["spec"] if "jobTemplate" in spec else spec)["template"]


SERVICE, JOB = pod_of(one("Deployment")), pod_of(one("CronJob"))
PODS = [pytest.param(SERVICE, id="service"), pytest.param(JOB, id="job")]


def container_of(pod):
    (container,) = pod["spec"]["containers"]
    return container


def values_of(described, key):
    if isinstance(described, dict):
        for name, inner in described.items():
            if name == key:
                yield inner
            yield from values_of(inner, key)
    elif isinstance(described, list):
        for inner in described:
            yield from values_of(inner, key)


def test_every_file_of_the_folder_is_used():
    generated = [
        name for made in KUSTOMIZATION["configMapGenerator"] for key in ("envs", "files") for name in made.get(key, [])
    ]
    used = {"kustomization.yaml", *KUSTOMIZATION["resources"], *generated}
    assert {path.name for path in FOLDER.iterdir()} == used


@pytest.mark.parametrize("described", OBJECTS, ids=lambda each: f"{each['kind']} {each['metadata']['name']}")
def test_object_follows_the_schema(described):
    kubernetes_validate = pytest.importorskip("kubernetes_validate", reason="needs its schemas: make extras")
    kubernetes_validate.validate(described, VERSION, strict=True)
    wrong = json.loads(json.dumps(described)) | {"spek": {}}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, VERSION, strict=True)


@pytest.mark.parametrize("pod", PODS)
def test_pod_is_hardened_and_limited(pod):
    spec, container = pod["spec"], container_of(pod)
    assert spec["automountServiceAccountToken"] is False
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert f"USER 10001:{spec['securityContext']['fsGroup']}" in (ROOT / "Dockerfile").read_text()
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert {*container["resources"]["requests"]} == {"cpu", "memory"}
    assert "memory" in container["resources"]["limits"]


@pytest.mark.parametrize("pod", PODS)
def test_what_a_pod_mounts_is_there(pod):
    spec = pod["spec"]
    assert {mount["name"] for mount in container_of(pod)["volumeMounts"]} == {
        volume["name"] for volume in spec["volumes"]
    }
    claims = {each["metadata"]["name"] for each in OBJECTS if each["kind"] == "PersistentVolumeClaim"}
    assert {claim["claimName"] for claim in values_of(spec, "persistentVolumeClaim")} <= claims
    made = {each["name"] for each in KUSTOMIZATION["configMapGenerator"]}
    maps = [*values_of(spec, "configMap"), *values_of(spec, "configMapRef")]
    assert {each["name"] for each in maps} <= made


def test_secrets_and_settings_are_those_of_the_service():
    command = (FOLDER / "kustomization.yaml").read_text().split("create secret generic hubless")[1]
    for reference in (*values_of(SERVICE, "secretKeyRef"), *values_of(JOB, "secretKeyRef")):
        assert reference["name"] == "hubless"
        assert f"--from-literal={reference['key']}=" in command
    named = {*SETTINGS, *(each["name"] for each in container_of(SERVICE)["env"])}
    own = {name for name in named if not name.startswith("HUBLESS_MILVUS_")}  # an engine reads its own
    assert {name.removeprefix("HUBLESS_").lower() for name in own} <= set(Settings.model_fields)


def test_pod_has_the_time_that_the_service_takes_to_end(tmp_path):
    given = {name.removeprefix("HUBLESS_").lower(): value for name, value in SETTINGS.items()}
    settings = Settings(catalog=tmp_path, **given)
    _, seconds = container_of(SERVICE)["lifecycle"]["preStop"]["exec"]["command"]
    least = int(seconds) + settings.grace_seconds + MARGIN
    assert SERVICE["spec"]["terminationGracePeriodSeconds"] >= least


def test_probes_ask_endpoints_by_the_port_that_the_service_has(tmp_path):
    paths = create_app(Settings(catalog=tmp_path)).openapi()["paths"]
    container = container_of(SERVICE)
    (port,) = container["ports"]
    probes = {name: container[f"{name}Probe"]["httpGet"] for name in ("startup", "liveness", "readiness")}
    assert {probe["path"] for probe in probes.values()} <= set(paths)
    assert probes["readiness"]["path"] == "/readyz"
    assert {probe["port"] for probe in probes.values()} == {port["name"]}
    assert f"EXPOSE {port['containerPort']}" in (ROOT / "Dockerfile").read_text()
    (offered,) = one("Service")["spec"]["ports"]
    assert (offered["targetPort"], offered["port"]) == (port["name"], port["containerPort"])
    host = f"http://{one('Service')['metadata']['name']}:{offered['port']}"
    assert container_of(JOB)["command"][-2:] == ["--set", f"wait_for={host}"]


def test_selectors_find_their_pods_and_no_others():
    labels = [SERVICE["metadata"]["labels"], JOB["metadata"]["labels"]]

    def found(wanted):
        return [wanted.items() <= each.items() for each in labels]

    of_service = [
        one("Deployment")["spec"]["selector"]["matchLabels"],
        one("Service")["spec"]["selector"],
        one("PodDisruptionBudget")["spec"]["selector"]["matchLabels"],
        one("NetworkPolicy", "hubless")["spec"]["podSelector"]["matchLabels"],
    ]
    assert [found(each) for each in of_service] == [[True, False]] * len(of_service)
    assert found(one("NetworkPolicy", "hubless-reindex")["spec"]["podSelector"]["matchLabels"]) == [False, True]
    admitted = one("NetworkPolicy", "hubless")["spec"]["ingress"][0]["from"]
    assert any(found(each["podSelector"]["matchLabels"])[1] for each in admitted if "podSelector" in each)


def test_service_monitor_finds_the_service_and_sends_its_read_key():
    monitor = yaml.safe_load((ROOT / "deploy" / "monitoring" / "servicemonitor.yaml").read_text())
    service, (endpoint,) = one("Service"), monitor["spec"]["endpoints"]
    assert monitor["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    assert endpoint["port"] in {port["name"] for port in service["spec"]["ports"]}
    assert endpoint["authorization"] == {"type": "Bearer", "credentials": read_key()}
    alerts = (ROOT / "deploy" / "monitoring" / "alerts.yml").read_text()
    assert f'up{{job="{service["metadata"]["name"]}"}}' in alerts  # the operator names the job after the service


def read_key():
    """The key of the secret from which the service gets its read keys."""
    (variable,) = [each for each in container_of(SERVICE)["env"] if each["name"] == "HUBLESS_READ_KEYS"]
    return variable["valueFrom"]["secretKeyRef"]


@pytest.mark.parametrize("pod", PODS)
def test_image_is_the_one_of_the_kustomization_with_the_projects_version(pod):
    (image,) = KUSTOMIZATION["images"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert container_of(pod)["image"] == image["name"]
    assert image["newTag"] == project["version"]


def test_overlay_names_the_image_of_the_base_and_its_command_builds_that():
    text = (ROOT / "deploy" / "overlay" / "kustomization.yaml").read_text()
    overlay = yaml.safe_load(text)
    ((base,), (image,)) = overlay["resources"], overlay["images"]
    assert (ROOT / "deploy" / "overlay" / base).resolve() == FOLDER
    assert (image["name"], image["newTag"]) == (
        KUSTOMIZATION["images"][0]["name"],
        KUSTOMIZATION["images"][0]["newTag"],
    )
    named = f"{image['newName']}:{image['newTag']}"
    for page in (text, (ROOT / "docs" / "docker.md").read_text("utf-8")):
        assert f"docker build --tag {named} . && docker push {named}" in page
