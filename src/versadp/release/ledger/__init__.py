"""The ledger: releases, their people and their charges."""
