package dev.genv.enforcer.e2e;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;

/** The JVM flags of the image, from the script that starts the service in it. */
final class ImageFlags {
    private static final Path SCRIPT = Path.of("docker/genv-enforcer");
    private static final Pattern FLAG = Pattern.compile("-X(?!X:AOT)\\S+");

    private ImageFlags() {}

    /** Returns the flags on a node, without the one for the AOT cache. */
    static List<String> ofNode() {
        try {
            var script = Files.readString(SCRIPT);
            var ofFleets = script.substring(script.indexOf("if "), script.indexOf("else"));
            return FLAG.matcher(script.replace(ofFleets, ""))
                    .results()
                    .map(MatchResult::group)
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
