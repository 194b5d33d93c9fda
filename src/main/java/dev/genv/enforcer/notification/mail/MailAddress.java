package dev.genv.enforcer.notification.mail;

import java.util.regex.Pattern;

/** Mail addresses in the plain form {@code local@domain} of RFC 5321, without quotes, comments and names. So none can add a header. */
public final class MailAddress {
    private static final String LOCAL = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*";
    private static final String DOMAIN =
            "[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*";
    private static final Pattern ADDRESS = Pattern.compile("(?<local>%s)@(?<domain>%s)".formatted(LOCAL, DOMAIN));
    private static final int LONGEST = 254;
    private static final int LONGEST_LOCAL = 64;

    private MailAddress() {}

    /** Whether the text is an address. */
    public static boolean isValid(String text) {
        if (text.length() > LONGEST) {
            return false;
        }
        var match = ADDRESS.matcher(text);
        return match.matches() && match.group("local").length() <= LONGEST_LOCAL;
    }

    /** Returns the domain of an address. */
    static String domainOf(String address) {
        return address.substring(address.lastIndexOf('@') + 1);
    }
}
