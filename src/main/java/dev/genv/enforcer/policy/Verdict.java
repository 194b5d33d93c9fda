package dev.genv.enforcer.policy;

import java.util.List;

/** What a rule says of a fleet: what is broken, and what it could not judge. */
record Verdict(List<Finding> findings, List<HostProblem> problems) {
    Verdict(List<Finding> findings) {
        this(findings, List.of());
    }
}
