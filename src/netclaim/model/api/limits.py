"""How much the API server accepts: the limits of its validation, as numbers. No I/O.

A length of text is in bytes unless a comment says otherwise. What checks objects as the API server
does (`schema`), and what has to keep within its limits, go by the same numbers.
"""

from typing import Final

# Names.
LABEL_MAX: Final = 63  # a DNS label
SUBDOMAIN_MAX: Final = 253  # a DNS subdomain, also as the prefix of a label's key
LABEL_NAME_MAX: Final = 63  # of a label's key without its prefix, and of its value
DOMAIN_MAX: Final = 63  # of a driver, and of an attribute's or a capacity's domain
IDENTIFIER_MAX: Final = 32  # of an attribute or a capacity without its domain
FIELD_MANAGER_MAX: Final = 128  # characters
ANNOTATIONS_MAX: Final = 256 << 10  # all keys and values together

# Claims and device classes.
REQUESTS_MAX: Final = 32
CONSTRAINTS_MAX: Final = 32
CONFIGS_MAX: Final = 32
SELECTORS_MAX: Final = 32
ALTERNATIVES_MAX: Final = 8
TOLERATIONS_MAX: Final = 16
EXPRESSION_MAX: Final = 10 << 10
RAW_MAX: Final = 10 << 10  # parameters for a driver, and what it reports, as JSON

# A claim's status.
RESULTS_MAX: Final = 32  # devices of one claim
RESERVED_MAX: Final = 256
ALLOCATED_CONFIGS_MAX: Final = 64  # of class and claim together
CONDITIONS_MAX: Final = 8
REASON_MAX: Final = 1024
MESSAGE_MAX: Final = 32768
IPS_MAX: Final = 16
INTERFACE_NAME_MAX: Final = 256
HARDWARE_ADDRESS_MAX: Final = 128

# Slices.
SLICE_DEVICES_MAX: Final = 128
SLICE_ADVANCED_DEVICES_MAX: Final = 64  # if one of them has taints or draws from counters
COUNTER_SETS_MAX: Final = 8
COUNTERS_MAX: Final = 32  # in a set, and in what a device takes of one
ATTRIBUTES_AND_CAPACITIES_MAX: Final = 32
STRING_MAX: Final = 64
VALID_VALUES_MAX: Final = 10
TAINTS_MAX: Final = 16
COUNTER_USES_MAX: Final = 2
BINDING_CONDITIONS_MAX: Final = 4

# Events.
NOTE_MAX: Final = 1024
SHORT_MAX: Final = 128  # reason, action and reporting instance
