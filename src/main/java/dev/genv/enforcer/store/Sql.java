package dev.genv.enforcer.store;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import org.jspecify.annotations.Nullable;

/** Runs statements of one transaction, and closes each. */
public record Sql(Connection connection) {
    /** Reads a row; false ends the reading. */
    @FunctionalInterface
    public interface RowFilter {
        boolean read(ResultSet row) throws SQLException;
    }

    /** Reads a row. */
    @FunctionalInterface
    public interface RowReader {
        void read(ResultSet row) throws SQLException;
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
            statement.execute(sql);
        }
    }

    /** Reads rows until the reader returns false. */
    public void read(String sql, RowFilter reader, @Nullable Object... values) throws SQLException {
        try (var statement = prepare(sql, values);
                var rows = statement.executeQuery()) {
            while (rows.next() && reader.read(rows)) {
                // the reader has done it
            }
        }
    }

    /** Reads all rows. */
    public void forEach(String sql, RowReader reader, @Nullable Object... values) throws SQLException {
        read(
                sql,
                row -> {
                    reader.read(row);
                    return true;
                },
                values);
    }

    /** Returns the number in the first row; 0 if there is none. */
    public long number(String sql, @Nullable Object... values) throws SQLException {
        try (var statement = prepare(sql, values);
                var rows = statement.executeQuery()) {
            return rows.next() ? rows.getLong(1) : 0;
        }
    }

    private PreparedStatement prepare(String sql, @Nullable Object... values) throws SQLException {
        var statement = connection.prepareStatement(sql);
        for (var index = 0; index < values.length; index++) {
            statement.setObject(index + 1, values[index]);
        }
        return statement;
    }
}
