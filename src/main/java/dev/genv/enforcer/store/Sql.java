package dev.genv.enforcer.store;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Runs statements of one transaction, and closes each. */
public record Sql(Connection connection) {
    /** Reads a row; null ends the query. */
    @FunctionalInterface
    public interface RowReader<T> {
        @Nullable
        T read(ResultSet row) throws SQLException;
    }

    @FunctionalInterface
    public interface RowConsumer {
        void accept(ResultSet row) throws SQLException;
    }

    /** Changes rows, and returns their number. */
    public int update(String sql, @Nullable Object... values) throws SQLException {
        try (var statement = prepare(sql, values)) {
            return statement.executeUpdate();
        }
    }

    /** Runs a statement whose rows, if it has any, do not matter. */
    void execute(String sql) throws SQLException {
        try (var statement = connection.createStatement()) {
            if (statement.execute(sql)) {
                try (var rows = statement.getResultSet()) {
                    while (rows.next()) {
                        // the statement goes on with each row
                    }
                }
            }
        }
    }

    /** Takes at most so many free pages from the file: one in a step, whose row has no columns, so that {@link #execute} takes only one. */
    void vacuum(int pages) throws SQLException {
        try (var statement = connection.createStatement()) {
            statement.executeUpdate("PRAGMA incremental_vacuum(%d)".formatted(pages));
        }
    }

    /** Returns what the reader makes of the rows. */
    public <T> List<T> query(String sql, RowReader<T> reader, @Nullable Object... values) throws SQLException {
        try (var statement = prepare(sql, values);
                var rows = statement.executeQuery()) {
            var all = new ArrayList<T>();
            while (rows.next()) {
                var value = reader.read(rows);
                if (value == null) {
                    break;
                }
                all.add(value);
            }
            return all;
        }
    }

    public void forEach(String sql, RowConsumer consumer, @Nullable Object... values) throws SQLException {
        try (var statement = prepare(sql, values);
                var rows = statement.executeQuery()) {
            while (rows.next()) {
                consumer.accept(rows);
            }
        }
    }

    /** Returns the first column of the first row; empty if there is none, or if it is NULL. */
    public Optional<Long> find(String sql, @Nullable Object... values) throws SQLException {
        return query(sql, row -> Optional.ofNullable((Number) row.getObject(1)), values).stream()
                .findFirst()
                .flatMap(number -> number.map(Number::longValue));
    }

    /** Returns the first column of the first row as text; empty if there is none, or if it is NULL. */
    String text(String sql) throws SQLException {
        var rows = query(sql, row -> String.valueOf(row.getString(1)));
        return rows.isEmpty() ? "" : rows.getFirst();
    }

    /** Returns the first column of the first row; 0 if there is none, or if it is NULL. */
    public long number(String sql, @Nullable Object... values) throws SQLException {
        return find(sql, values).orElse(0L);
    }

    private PreparedStatement prepare(String sql, @Nullable Object... values) throws SQLException {
        var statement = connection.prepareStatement(sql);
        for (var index = 0; index < values.length; index++) {
            statement.setObject(index + 1, values[index]);
        }
        return statement;
    }
}
