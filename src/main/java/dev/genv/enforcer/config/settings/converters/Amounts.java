package dev.genv.enforcer.config.settings.converters;

import dev.genv.enforcer.model.device.Memory;

/** Amounts with a unit. */
@SuppressWarnings("serial")
public final class Amounts {
    private Amounts() {}

    /** An amount of memory, as genv writes it. */
    public static final class OfMemory extends SettingConverter<Memory> {
        public OfMemory() {
            super("an amount of memory such as 512mi or 4g");
        }

        @Override
        public Memory convert(String value) {
            return Memory.parse(value).orElseThrow(this::invalid);
        }
    }
}
