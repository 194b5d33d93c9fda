package dev.genv.enforcer.facts.host;

/** What a machine answered at about one moment. */
public sealed interface Facts permits HostFacts, GenvFacts {}
