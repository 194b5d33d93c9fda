package dev.genv.enforcer.host;

import org.jspecify.annotations.Nullable;

/**
 * The files of the machine's accounts.
 *
 * @param passwd {@code /etc/passwd}, passwd(5)
 * @param subuid {@code /etc/subuid}, subuid(5)
 */
public record AccountFacts(Reading<TextFile> passwd, Reading<TextFile> subuid) {
    /**
     * A file of text.
     *
     * @param version identifies this content: it differs after every change
     * @param content the file; null if the recipient already has this version
     */
    public record TextFile(String version, @Nullable Bytes content) {}
}
