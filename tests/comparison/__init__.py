"""The same requests in the same order to Heat and to Hearth, and every difference explained.

`sides` sends and masks, `story` is what is asked, `differences` names what may differ and why,
`run` compares. A difference that no name explains is a defect.
"""
