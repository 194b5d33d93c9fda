package dev.genv.enforcer.config.settings.reading;

import java.util.List;

/** Invalid settings, with which the service does not start. */
public final class InvalidSettingsException extends Exception {
    private static final long serialVersionUID = 1L;
    private final transient List<String> lines;

    InvalidSettingsException(List<String> lines) {
        super(String.join("\n", lines));
        this.lines = List.copyOf(lines);
    }

    /** Returns one line for each invalid variable: its name, its value, and which values are valid. */
    public List<String> lines() {
        return lines;
    }
}
