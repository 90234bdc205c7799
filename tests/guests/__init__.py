"""Agents of servers, from a template to a program that ran: each transport with each signal."""
