"""Codecs of fixed layout: one `Struct` does it all."""

from __future__ import annotations

from weft.fom.encoding.codec import Codec, as_bytes
from weft.fom.encoding.explain import why_not_packed, why_not_unpacked
from weft.fom.encoding.generate import CodecSource, pack_arguments, targets, unpacked_value
from weft.fom.encoding.misfit import finished
from weft.fom.encoding.shape import Block, Shape, lay_out


def block_codec(name: str, shape: Shape, python_type: str) -> Codec:
    """The codec of a shape that fits one format string."""
    block = lay_out(shape)
    source = CodecSource()
    pack = source.bind("pack_all", block.struct.pack)
    unpack = source.bind("unpack_all", block.struct.unpack)
    unpack_from = source.bind("unpack_from", block.struct.unpack_from)
    source.bound["why_packed"] = lambda error, value: _packing_failed(error, shape, value)
    source.bound["why_unpacked"] = lambda error, data, at: (
        why_not_unpacked(block, data, at, exact=False) or error
    )
    source.bound["end_packed"] = lambda error, value: finished(_packing_failed(error, shape, value), name)
    source.bound["end_unpacked"] = lambda error, data: finished(_decoding_failed(error, block, data), name)

    _pack_function(source, shape, "def encode(value):", f"return {pack}({{}})", "end_packed(error, value)")
    _pack_function(
        source, shape, "def write(out, value):", f"out += {pack}({{}})", "why_packed(error, value)"
    )
    _unpack_function(source, block, "def decode(data):", f"{unpack}(data)", "{}", "end_unpacked(error, data)")
    _unpack_function(
        source,
        block,
        "def read(data, at):",
        f"{unpack_from}(data, at)",
        f"{{}}, at + {block.struct.size}",
        "why_unpacked(error, data, at)",
    )
    source.run(name)
    made = source.bound
    return Codec(
        name,
        made["write"],
        made["read"],
        boundary=shape.boundary,
        python_type=python_type,
        static_size=block.struct.size,
        shape=shape,
        encode=made["encode"],
        decode=made["decode"],
    )


def _pack_function(source: CodecSource, shape: Shape, head: str, last: str, failure: str) -> None:
    source.line(head, 0)
    source.line("try:", 1)
    source.line(last.format(", ".join(pack_arguments(source, shape, "value"))))
    _fail_with(source, failure)


def _unpack_function(
    source: CodecSource, block: Block, head: str, call: str, result: str, failure: str
) -> None:
    left, names = targets(len(block.spots))
    source.line(head, 0)
    source.line("try:", 1)
    source.line(f"{left} = {call}")
    source.line("return " + result.format(unpacked_value(source, block.shape, iter(names))))
    _fail_with(source, failure)


def _fail_with(source: CodecSource, failure: str) -> None:
    source.line("except Exception as error:", 1)
    source.line(f"raise {failure} from None")


def _packing_failed(error: Exception, shape: Shape, value: object) -> Exception:
    try:
        return why_not_packed(shape, value) or error
    except Exception as other:  # the value itself misbehaves
        return other


def _decoding_failed(error: Exception, block: Block, data: object) -> Exception:
    try:
        return why_not_unpacked(block, as_bytes(data), 0, exact=True) or error
    except Exception as other:
        return other
