"""The Franka task under the module name that its documentation prints."""
