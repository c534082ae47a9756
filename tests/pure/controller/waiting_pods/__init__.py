"""Tests of `netclaim.controller.waiting_pods`."""
