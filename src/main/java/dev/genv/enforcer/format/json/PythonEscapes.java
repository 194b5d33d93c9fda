package dev.genv.enforcer.format.json;

import com.fasterxml.jackson.core.SerializableString;
import com.fasterxml.jackson.core.io.CharacterEscapes;
import com.fasterxml.jackson.core.io.SerializedString;
import org.jspecify.annotations.Nullable;

/** Escapes DEL like Python; Jackson does not escape it. */
public final class PythonEscapes extends CharacterEscapes {
    private static final long serialVersionUID = 1L;
    private static final int DELETE = 0x7f;
    private static final SerializedString ESCAPED = new SerializedString("\\u007f");

    @Override
    public int[] getEscapeCodesForAscii() {
        var codes = standardAsciiEscapesForJSON();
        codes[DELETE] = ESCAPE_CUSTOM;
        return codes;
    }

    @Override
    public @Nullable SerializableString getEscapeSequence(int character) {
        return character == DELETE ? ESCAPED : null;
    }
}
