"""Causal order as middleware: above any RTI, below the federate.

Read `party` for what members owe one another, `seat` for what becomes of callbacks, `ambassador` for the services, `addresses`
for whom a message is for, and `weft.ordering.group` and `weft.ordering.tables` for the order itself.
"""

from weft.federate.causal.ambassador import CausalCounts, CausalRTIambassador
from weft.federate.causal.module import CAUSAL_MODULE

__all__ = ["CAUSAL_MODULE", "CausalCounts", "CausalRTIambassador"]
