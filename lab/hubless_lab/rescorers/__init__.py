"""Corrections of papers that give candidates new scores; entry points bring them to `hubless.CORRECTIONS`."""
