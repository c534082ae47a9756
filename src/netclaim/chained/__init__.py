"""The runtime's own call: the chained CNI plugin netclaim-attach, and the driver's side of it.

The program is compiled from native/ into this directory. `protocol` is what it says to the driver,
`server` the socket that it says it on, `plans` the files by which it decides whether to say
anything, `conflist` and `installer` how it comes into the runtime's network configuration.
"""

from netclaim.chained.conflist import ConflistError, PluginEntry, with_plugin, without_plugin
from netclaim.chained.installer import Installer, program_path
from netclaim.chained.plans import PlanFiles, PlanState
from netclaim.chained.protocol import (
    AGAIN,
    OK,
    TRY_AGAIN_LATER,
    Answer,
    Command,
    Listing,
    MalformedAnswerError,
    MalformedRequestError,
    Refusal,
    Request,
    RequestDecoder,
    decode_answer,
    encode_answer,
    encode_collect,
    encode_retire,
)
from netclaim.chained.server import AttachServer

__all__ = [
    "AGAIN",
    "OK",
    "TRY_AGAIN_LATER",
    "Answer",
    "AttachServer",
    "Command",
    "ConflistError",
    "Installer",
    "Listing",
    "MalformedAnswerError",
    "MalformedRequestError",
    "PlanFiles",
    "PlanState",
    "PluginEntry",
    "Refusal",
    "Request",
    "RequestDecoder",
    "decode_answer",
    "encode_answer",
    "encode_collect",
    "encode_retire",
    "program_path",
    "with_plugin",
    "without_plugin",
]
