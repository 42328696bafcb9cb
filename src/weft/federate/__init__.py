"""What a Python simulation is written against."""

from weft.federate.ambassador import RTIambassador
from weft.federate.callbacks import FederateAmbassador

__all__ = ["FederateAmbassador", "RTIambassador"]
