"""Sim2sim: does a policy depend on its physics engine, and why?"""
