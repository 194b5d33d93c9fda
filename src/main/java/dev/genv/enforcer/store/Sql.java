package dev.genv.enforcer.store;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Statements with values, each in one line. */
public final class Sql {
    private Sql() {}

    /** Reads a row; null ends the query. */
    @FunctionalInterface
    public interface RowReader<T> {
        @Nullable
        T read(ResultSet row) throws SQLException;
    }

    public static <T> List<T> query(Connection connection, String sql, RowReader<T> reader, @Nullable Object... values)
            throws SQLException {
        try (var statement = prepare(connection, sql, values);
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

    /** Returns the first column of the first row; empty if there is none, or if it is NULL. */
    public static Optional<Long> number(Connection connection, String sql, @Nullable Object... values)
            throws SQLException {
        try (var statement = prepare(connection, sql, values);
                var rows = statement.executeQuery()) {
            return rows.next()
                    ? Optional.ofNullable((Number) rows.getObject(1)).map(Number::longValue)
                    : Optional.empty();
        }
    }

    public static void update(Connection connection, String sql, @Nullable Object... values) throws SQLException {
        try (var statement = prepare(connection, sql, values)) {
            statement.executeUpdate();
        }
    }

    private static PreparedStatement prepare(Connection connection, String sql, @Nullable Object... values)
            throws SQLException {
        var statement = connection.prepareStatement(sql);
        for (var index = 0; index < values.length; index++) {
            statement.setObject(index + 1, values[index]);
        }
        return statement;
    }
}
