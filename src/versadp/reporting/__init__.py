"""Pages to look at and send on: they need no network, made from a release or from a schema.

    report      a release: what it promises, what the noise does, what it tells, and code to go on with
    planner     a schema: sliders over what every level of privacy would mean, before anything is released

Everything that comes out of a release is text that somebody else wrote: templates escape it, pictures are written by an
XML writer, and the pages forbid scripts that are not their own.
"""
