from . import shape
from .definition import Snapshot
from .judge import judge
