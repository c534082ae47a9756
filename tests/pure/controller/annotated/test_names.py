"""The names that the controller and the chart's admission policies have in common."""

from pathlib import Path

from netclaim.controller.annotated import names

TEMPLATES = Path(__file__).parents[4] / "charts" / "netclaim" / "templates"


def test_admission_writes_what_the_controller_reads() -> None:
    """Names in a JSON pointer have their slash escaped."""
    text = (TEMPLATES / "annotated-pods.yaml").read_text()
    assert f"{names.NAMESPACE_LABEL}: {names.NAMESPACE_VALUE}" in text
    for name in (names.LABEL, names.POD_CLAIM, names.TEMPLATE, names.MULTUS_ANNOTATION):
        assert f"'{name}'" in text
    escaped = names.ANNOTATION.replace("/", "~1")
    assert f"path: '/metadata/annotations/{escaped}'" in text


def test_the_controller_is_held_to_what_it_writes() -> None:
    """Its own policies name the same labels and annotations."""
    text = (TEMPLATES / "controller-admission.yaml").read_text()
    for name in (
        names.LABEL,
        names.MADE_FROM,
        names.NAMESPACE_LABEL,
        names.POD_CLAIM,
        names.POD_CLAIM_ANNOTATION,
        names.STATUS_ANNOTATION,
    ):
        assert f"'{name}'" in text
