package dev.genv.enforcer.config.settings.converters;

import dev.genv.enforcer.model.device.Memory;

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

    /** The size of the journal. It consists of several parts, so it is not too small. */
    public static final class JournalSize extends SettingConverter<Memory> {
        private static final Memory SMALLEST = Memory.ofMebibytes(1);
        private static final Memory LARGEST = Memory.ofMebibytes(1L << 20);

        public JournalSize() {
            super("a size from 1MiB to 1024GiB, such as 64MiB or 2GiB");
        }

        @Override
        public Memory convert(String value) {
            return Memory.parse(value)
                    .filter(size -> size.compareTo(SMALLEST) >= 0 && size.compareTo(LARGEST) <= 0)
                    .orElseThrow(this::invalid);
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
