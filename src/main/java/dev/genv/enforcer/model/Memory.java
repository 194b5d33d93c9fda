package dev.genv.enforcer.model;

import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;

/** An amount of GPU memory in bytes, never negative. */
public record Memory(long bytes) implements Comparable<Memory> {
    public static final Memory ZERO = new Memory(0);
    private static final Pattern TEXT = Pattern.compile("([0-9]{1,19}(?:\\.[0-9]{1,9})?)\\s*([kmg]?i?)b?");
    private static final Map<String, Long> UNITS = Map.of(
            "", 1L, "k", 1_000L, "m", 1_000_000L, "g", 1_000_000_000L, "ki", 1L << 10, "mi", 1L << 20, "gi", 1L << 30);

    public Memory {
        if (bytes < 0) {
            throw new IllegalArgumentException("memory must not be negative: " + bytes);
        }
    }

    public static Memory ofMebibytes(long mebibytes) {
        return new Memory(Math.multiplyExact(mebibytes, 1L << 20));
    }

    /**
     * Parses an amount as genv writes it ({@code 4g}, {@code 15258mi}, {@code 1000}) or as users type it ({@code 4G}, {@code 4gb},
     * {@code 4GiB}, {@code 1.5g}). A fraction of a byte is dropped.
     *
     * @return empty if the text is no amount, or does not fit into a long
     */
    public static Optional<Memory> parse(String text) {
        var match = TEXT.matcher(text.strip().toLowerCase(Locale.ROOT));
        var unit = match.matches() ? UNITS.get(match.group(2)) : null;
        if (unit == null) {
            return Optional.empty();
        }
        var bytes = new BigDecimal(match.group(1)).multiply(BigDecimal.valueOf(unit));
        return bytes.compareTo(BigDecimal.valueOf(Long.MAX_VALUE)) > 0
                ? Optional.empty()
                : Optional.of(new Memory(bytes.setScale(0, RoundingMode.DOWN).longValueExact()));
    }

    /** Returns the sum; an overflow gives the largest amount, so that a large sum never appears small. */
    public Memory plus(Memory other) {
        var sum = bytes + other.bytes;
        return new Memory(sum < 0 ? Long.MAX_VALUE : sum);
    }

    /** Returns the difference, at least zero. */
    public Memory minus(Memory other) {
        return new Memory(Math.max(0, bytes - other.bytes));
    }

    /** Returns whole decimal megabytes, rounded down, as genv prints them: {@code 1153m}. */
    public long megabytes() {
        return bytes / 1_000_000;
    }

    /** Returns whole mebibytes, rounded up as nvidia-smi does. */
    public long mebibytes() {
        return bytes / (1L << 20) + (bytes % (1L << 20) == 0 ? 0 : 1);
    }

    @Override
    public int compareTo(Memory other) {
        return Long.compare(bytes, other.bytes);
    }
}
