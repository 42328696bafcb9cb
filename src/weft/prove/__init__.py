"""The proving ground: one script of calls by several federates, in many worlds (docs/how-to/proving.md).

A script is written from a seed by an author that runs it at an embedded node; played again at a server, over several nodes, or
after a save and a restore, it must lead to the same results, exceptions and callbacks wherever the standard leaves no choice.

`check_strategy` is the test kit of strategies of data distribution that others bring (docs/how-to/strategy.md).
"""

from weft.prove.campaign import IN_TURN, Campaign, CampaignOutcome, Finding, MakeWorld
from weft.prove.data import proving_model
from weft.prove.mesh_world import MeshedServers
from weft.prove.proof import Played, Stage, judged, shrunk
from weft.prove.script import Script, ScriptedCall, read_script
from weft.prove.strategy_contract import StrategyContractBroken, check_strategy
from weft.prove.words import ModelWords, words_of
from weft.prove.world import World
from weft.prove.worlds import AtAddress, AtServer, Embedded, OwnNodes, ServerCertificate, Simulated

__all__ = [
    "IN_TURN",
    "AtAddress",
    "AtServer",
    "Campaign",
    "CampaignOutcome",
    "Embedded",
    "Finding",
    "MakeWorld",
    "MeshedServers",
    "ModelWords",
    "OwnNodes",
    "Played",
    "Script",
    "ScriptedCall",
    "ServerCertificate",
    "Simulated",
    "Stage",
    "StrategyContractBroken",
    "World",
    "check_strategy",
    "judged",
    "proving_model",
    "read_script",
    "shrunk",
    "words_of",
]
