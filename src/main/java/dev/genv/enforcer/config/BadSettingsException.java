package dev.genv.enforcer.config;

import java.util.List;

/** Settings with which the service does not start. */
final class BadSettingsException extends Exception {
    private static final long serialVersionUID = 1L;
    private final transient List<String> lines;

    BadSettingsException(List<String> lines) {
        super(String.join("\n", lines));
        this.lines = List.copyOf(lines);
    }

    /** One for each setting: the variable, its value, and what would be right. */
    List<String> lines() {
        return lines;
    }
}
