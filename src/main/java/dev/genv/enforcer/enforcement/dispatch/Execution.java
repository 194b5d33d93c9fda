package dev.genv.enforcer.enforcement.dispatch;

import dev.genv.enforcer.enforcement.action.ActionRecord;
import dev.genv.enforcer.policy.plan.HostProblem;
import java.util.List;

/** The results of the orders of a cycle, and the problems that they showed. */
public record Execution(List<ActionRecord> records, List<HostProblem> problems) {}
