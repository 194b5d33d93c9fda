package dev.genv.enforcer.policy.plan;

import dev.genv.enforcer.model.problem.Problem;

/** A problem that prevented a rule from checking a part of a machine. */
public record HostProblem(String host, Problem problem) {}
