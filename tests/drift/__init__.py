"""Changes behind Hearth's back, of each property that is compared: drift reports just those."""
