"""The same requests in the same order to Heat and to Hearth, and every difference explained.

`sides` sends and masks, `story` is what is asked, `differences` names what may differ and why,
`run` compares. A difference that no name explains is a defect.

`sweep` has both preview templates of every type over one embedded cloud (`cloud`); `settled` has
the reasons why their judgements may differ. `attributes` has both create the examples and compares
what their attributes show.
"""
