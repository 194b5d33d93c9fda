package dev.genv.enforcer.policy;

import dev.genv.enforcer.model.Problem;

/** Something of a machine that a rule could not judge. */
public record HostProblem(String host, Problem problem) {}
