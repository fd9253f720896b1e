"""Tests of pmservice."""
