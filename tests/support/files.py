"""Files of vectors, good and bad."""

import pickle
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq


def write_npy(path, rows):
    np.save(path, rows)
    return path


def write_npz(path, rows, **more):
    np.savez(path, vectors=rows, **more)
    return path


def write_parquet(path, rows, kind=None, column="vector", **more):
    """Rows as lists, of an Arrow type or list<float>; `row_group_size` is small, so that batches end in odd places."""
    path.parent.mkdir(exist_ok=True)
    lists = pa.array([None if row is None else np.asarray(row) for row in rows], kind or pa.list_(pa.float32()))
    pq.write_table(pa.table({column: lists, **more}), path, row_group_size=11)
    return path


def read_all(source, rows=7):
    return np.concatenate(list(source.blocks(rows)))


class Trace:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def write_pickled(path, trace):
    """A file of this ending that runs code when it is unpickled: an array of objects, or a bare pickle."""
    objects = np.array([[Trace(trace)]], dtype=object)
    if path.suffix == ".npz":
        np.savez(path, allow_pickle=True, vectors=objects)
    elif path.suffix == ".npy":
        np.save(path, objects, allow_pickle=True)
    else:
        path.write_bytes(pickle.dumps(objects))
    return path


def load_trustingly(path):
    """Read a file of arrays as one must not: to show that a trace would have been left."""
    loaded = np.load(path, allow_pickle=True)
    if isinstance(loaded, np.lib.npyio.NpzFile):
        with loaded:
            for name in loaded:
                loaded[name]


def arrow_stream(table, **options):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()
