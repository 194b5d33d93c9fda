package dev.genv.enforcer.store;

import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.record.Store.Attempt;
import dev.genv.enforcer.enforcement.record.Store.Intent;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Plan.PlannedAction;
import dev.genv.enforcer.policy.RuleDefinition;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The rows of the table of actions. */
final class ActionRows {
    /** The outcome of an intent. */
    static final String PERHAPS = "perhaps";

    private final Sql sql;

    ActionRows(Connection connection) {
        sql = new Sql(connection);
    }

    void insert(Intent intent) throws SQLException {
        write(intent.id(), intent.at(), intent.planned(), null);
    }

    /** Writes the result of an attempt; one without a result is removed. */
    void record(Attempt attempt) throws SQLException {
        if (attempt.result() == null) {
            sql.update("DELETE FROM action WHERE id = ?", attempt.id());
        } else {
            write(attempt.id(), attempt.at(), attempt.planned(), attempt.result());
        }
    }

    private void write(long id, Instant at, PlannedAction planned, @Nullable Result result) throws SQLException {
        var action = planned.action();
        var json = result == null ? RecordJson.text(planned) : null;
        var process = action instanceof Action.Terminate terminate ? terminate.process() : null;
        sql.update("DELETE FROM action WHERE id = ?", id); // not replaced: that would call no trigger
        sql.update(
                "INSERT INTO action VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                id,
                at.toEpochMilli(),
                action.host(),
                process == null ? "detach" : "terminate",
                result == null ? PERHAPS : result.outcome().label(),
                result == null ? null : result.detail(),
                userOf(planned),
                uidOf(action),
                action.environmentId().isEmpty() ? null : SafeText.bounded(action.environmentId()),
                RecordJson.text(devicesOf(action)),
                process == null ? null : process.pid(),
                process == null ? null : process.id().startTime(),
                process == null ? null : process.command(),
                action instanceof Action.Terminate terminate
                        ? terminate.signal().name()
                        : null,
                RecordJson.text(
                        planned.rules().stream().map(RuleDefinition::name).toList()),
                json,
                Retention.bytes(json));
    }

    private static String userOf(PlannedAction planned) {
        return planned.causes().isEmpty()
                ? ""
                : ViolationRows.userOf(planned.causes().getFirst());
    }

    private static @Nullable Long uidOf(Action action) {
        return switch (action) {
            case Action.Terminate(var _, GpuProcess process, var _) -> process.uid();
            case Action.Detach(var _, var environment, var _, var _) -> environment.uid();
        };
    }

    private static List<Integer> devicesOf(Action action) {
        return switch (action) {
            case Action.Terminate(var _, var process, var _) -> process.devices();
            case Action.Detach(var _, var _, var device, var _) -> List.of(device);
        };
    }

    /** Returns the actions without a result. One that this version cannot read is left out. */
    List<Intent> intents() throws SQLException {
        var intents = new ArrayList<Intent>();
        sql.forEach(
                "SELECT id, at, planned FROM action WHERE outcome = ? ORDER BY id",
                row -> {
                    var id = row.getLong(1);
                    var at = Instant.ofEpochMilli(row.getLong(2));
                    RecordJson.read(row.getString(3), PlannedAction.class)
                            .ifPresent(planned -> intents.add(new Intent(id, at, planned)));
                },
                PERHAPS);
        return intents;
    }
}
