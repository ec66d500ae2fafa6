"""The paper's tables and figures, made again: every published figure beside ours, with its Monte Carlo error.

versadp reproduce table1|table2|table3|figure1|figure2|proposition|claims|settings|network
versadp reproduce baselines|versatility|realdata
"""
