"""The chained CNI plugin netclaim-attach, and the driver's side of it.

The program is compiled from native/ into this directory.

    protocol       what it and the driver say to each other
    server         the driver's socket for it
    marker_files   which pods have plans, for when the driver is away
    conflist       its entry in a CNI network list
    installer      keeps that entry, and the program, in place
    files          replacing a file safely
"""

from netclaim.chained.conflist import ConflistError, PluginEntry, with_plugin, without_plugin
from netclaim.chained.installer import Installer, program_path
from netclaim.chained.marker_files import PlanFiles, PlanState
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
