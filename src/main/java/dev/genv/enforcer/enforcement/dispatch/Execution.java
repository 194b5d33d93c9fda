package dev.genv.enforcer.enforcement.dispatch;

import dev.genv.enforcer.enforcement.action.ActionRecord;
import dev.genv.enforcer.policy.plan.Plan.HostProblem;
import java.util.List;

/**
 * What was executed.
 *
 * @param late the results of orders of earlier cycles that came after their end
 * @param records the results of the orders of this cycle
 * @param problems the problems that the orders showed
 */
public record Execution(List<ActionRecord> late, List<ActionRecord> records, List<HostProblem> problems) {}
