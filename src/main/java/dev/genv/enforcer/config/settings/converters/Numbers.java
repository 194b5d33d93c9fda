package dev.genv.enforcer.config.settings.converters;

/** Whole numbers. */
@SuppressWarnings("serial")
public final class Numbers {
    private static final int HIGHEST_PORT = 65_535;

    private Numbers() {}

    /** A limit of devices or processes, of at most nine digits. */
    public static final class Limit extends SettingConverter<Integer> {
        public Limit() {
            super("a whole number from 0");
        }

        @Override
        public Integer convert(String value) {
            if (!value.matches("[0-9]{1,9}")) {
                throw invalid();
            }
            return Integer.valueOf(value);
        }
    }

    /** A number of messages in an hour. */
    public static final class PerHour extends SettingConverter<Integer> {
        public PerHour() {
            super("a whole number from 1 to 60");
        }

        @Override
        public Integer convert(String value) {
            if (!value.matches("[1-9]|[1-5][0-9]|60")) {
                throw invalid();
            }
            return Integer.valueOf(value);
        }
    }

    /** A TCP port; 0 is any that is free. */
    public static final class Port extends SettingConverter<Integer> {
        public Port() {
            super("a port, 0 to 65535");
        }

        @Override
        public Integer convert(String value) {
            if (!value.matches("[0-9]{1,5}") || Integer.parseInt(value) > HIGHEST_PORT) {
                throw invalid();
            }
            return Integer.valueOf(value);
        }
    }

    /** A switch of genv: every number except 0 means yes. */
    public static final class GenvSwitch extends SettingConverter<Boolean> {
        public GenvSwitch() {
            super("0 or 1");
        }

        @Override
        public Boolean convert(String value) {
            if (!value.matches("[+-]?[0-9]{1,9}")) {
                throw invalid();
            }
            return Integer.parseInt(value) != 0;
        }
    }
}
