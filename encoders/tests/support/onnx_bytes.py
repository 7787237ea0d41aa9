"""Writes small ONNX graphs byte by byte, so that no test needs the package onnx. Numbers of fields: onnx.proto."""

import numpy as np

INT32, INT64, FLOAT = 6, 7, 1


def varint(number):
    """A whole number, seven bits a byte, the lowest first."""
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


def field(number, value):
    """A field of a message: a whole number, a text, or the bytes of a message."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def node(kind, inputs, output, **attributes):
    """NodeProto with one output; attributes are whole numbers (AttributeProto: i = 3, type INT = 2)."""
    found = b"".join(field(1, name) for name in inputs) + field(2, output) + field(4, kind)
    return found + b"".join(field(5, field(1, k) + field(3, v) + field(20, 2)) for k, v in attributes.items())


def tensor(name, array):
    dims = b"".join(field(1, size) for size in array.shape)
    return dims + field(2, FLOAT if array.dtype == np.float32 else INT64) + field(8, name) + field(9, array.tobytes())


def value(name, kind, *shape):
    """ValueInfoProto; a text in the shape is a dimension that the graph leaves open."""
    dims = b"".join(field(1, field(1 if isinstance(size, int) else 2, size)) for size in shape)
    return field(1, name) + field(2, field(1, field(1, kind) + field(2, dims)))


def model(nodes, tensors, inputs, outputs):
    graph = b"".join(
        [
            *(field(1, one) for one in nodes),
            field(2, "graph"),
            *(field(5, tensor(name, array)) for name, array in tensors.items()),
            *(field(11, one) for one in inputs),
            *(field(12, one) for one in outputs),
        ]
    )
    return field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 17))
